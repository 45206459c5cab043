/** The format of every encoded audio rendition: stereo AAC. */
export const audioSampleRate = 48000
/** Samples in an AAC frame. */
export const frameSamples = 1024
export const audioChannels = 2
/** In bits per second. */
export const audioBitrate = 128_000
