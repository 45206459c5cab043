import { defineErrors } from '../../../lib/errors.ts'

export const whipErrors = defineErrors({
  unknownStreamKey: [
    'unknown-stream-key',
    401,
    'The stream key is unknown.',
    'Send the stream key of a live stream in the header `Authorization: Bearer STREAM_KEY`.',
  ],
  invalidOffer: [
    'invalid-offer',
    400,
    'The offer cannot be accepted.',
    'The body is not a session description of WebRTC, or it offers nothing that can be received. `title` has the reason.',
  ],
  wrongType: [
    'offer-type-invalid',
    415,
    'The type of an offer is application/sdp.',
    'Send the session description with the header `Content-Type: application/sdp`.',
  ],
  occupied: [
    'stream-key-occupied',
    409,
    'Another encoder is sending to this live stream.',
    'One encoder can send to a live stream at a time. Send the offer again when the other one has disconnected.',
  ],
  noIceRestart: [
    'no-ice-restart',
    422,
    'ICE cannot be restarted.',
    'End the session with DELETE, and send a new offer.',
  ],
  unavailable: [
    'webrtc-unavailable',
    503,
    'WebRTC is turned off.',
    'The setting KINORA_WEBRTC_PORT is not set, or this system does not support it.',
  ],
})
