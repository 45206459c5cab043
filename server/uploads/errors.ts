import { defineErrors } from '../lib/errors.ts'

export const uploadsErrors = defineErrors({
  missingToken: [
    'authentication-missing-upload-token',
    401,
    'The upload token is missing.',
    'Send it as the query parameter `token`.',
  ],
  invalidToken: [
    'authentication-invalid-upload-token',
    401,
    'The upload token is invalid.',
    'The token is unknown, expired or deleted, or its video was deleted.',
  ],
  alreadyUploaded: [
    'video-source-already-uploaded',
    400,
    'The video already has a source.',
    'A file was uploaded to this video. Another file can replace it only if it cannot be read. Create another video for another file.',
  ],
  alreadyDownloaded: [
    'video-source-already-downloaded',
    400,
    'The video already has a source.',
    'The source of this video was fetched from a URL.',
  ],
  alreadyCopied: [
    'video-source-already-copied',
    400,
    'The video already has a source.',
    'The source of this video was copied from another video.',
  ],
  inProgress: [
    'upload-in-progress',
    409,
    'Another request is uploading this chunk.',
    'Wait until that request ends, or try again in a few seconds.',
  ],
})

/** Each key is the slug without `video-content-range-`. */
export const rangeErrors = defineErrors({
  malformed: [
    'video-content-range-malformed',
    400,
    'The Content-Range header is malformed.',
    'It must be `bytes <first>-<last>/<total or *>` or `part <number>/<total or *>`.',
  ],
  'already-initiated': [
    'video-content-range-already-initiated',
    400,
    'The upload was started in another form.',
    'An upload that was started in chunks must continue in chunks. A single-request upload cannot be continued in chunks.',
  ],
  'started-with-bytes': [
    'video-content-range-started-with-bytes',
    400,
    'The upload was started with byte ranges.',
    'Continue with `bytes` in the Content-Range header.',
  ],
  'started-with-part': [
    'video-content-range-started-with-part',
    400,
    'The upload was started with part numbers.',
    'Continue with `part` in the Content-Range header.',
  ],
  'by-bytes-from-byte-too-high': [
    'video-content-range-by-bytes-from-byte-too-high',
    400,
    'The first byte is after the last byte.',
    'In `bytes a-b/total`, a must not be greater than b.',
  ],
  'by-bytes-range-mismatch': [
    'video-content-range-by-bytes-range-mismatch',
    400,
    'The size of the file does not match the range.',
    'The file in the request must have exactly the number of bytes in Content-Range.',
  ],
  'by-bytes-range-overlap': [
    'video-content-range-by-bytes-range-overlap',
    400,
    'The range overlaps with another range.',
    'The same range can be sent again with the same content, but it must not overlap with another range.',
  ],
  'by-bytes-range-too-small': [
    'video-content-range-by-bytes-range-too-small',
    400,
    'The range is too small.',
    'Every range except the last one must have at least 5 MiB.',
  ],
  'by-bytes-to-byte-too-high-total': [
    'video-content-range-by-bytes-to-byte-too-high-total',
    400,
    'The range exceeds the total.',
    'The last byte of a range must be less than the total.',
  ],
  'by-bytes-total-bytes-too-low': [
    'video-content-range-by-bytes-total-bytes-too-low',
    400,
    'The total is too low.',
    'The server has received more bytes than the total.',
  ],
  'by-bytes-total-bytes-zero': [
    'video-content-range-by-bytes-total-bytes-zero',
    400,
    'The total is 0.',
    'A source has at least one byte.',
  ],
  'by-bytes-different-total-bytes': [
    'video-content-range-by-bytes-different-total-bytes',
    400,
    'The total has changed.',
    'Every request with a total must have the same total.',
  ],
  'by-part-part-already-sent': [
    'video-content-range-by-part-part-already-sent',
    400,
    'The part was already sent with different content.',
    'A part can be sent again only with the same content.',
  ],
  'by-part-part-too-high-allowed': [
    'video-content-range-by-part-part-too-high-allowed',
    400,
    'The part number is too high.',
    'An upload can have at most 10,000 parts.',
  ],
  'by-part-part-too-high-total': [
    'video-content-range-by-part-part-too-high-total',
    400,
    'The part number exceeds the total.',
    'The number of a part must not be greater than the total.',
  ],
  'by-part-part-zero': [
    'video-content-range-by-part-part-zero',
    400,
    'The part number is 0.',
    'Part numbers start at 1.',
  ],
  'by-part-total-parts-too-high': [
    'video-content-range-by-part-total-parts-too-high',
    400,
    'The upload has too many parts.',
    'An upload can have at most 10,000 parts.',
  ],
  'by-part-total-parts-too-low': [
    'video-content-range-by-part-total-parts-too-low',
    400,
    'The total is too low.',
    'The server has received a part with a higher number.',
  ],
  'by-part-total-parts-zero': [
    'video-content-range-by-part-total-parts-zero',
    400,
    'The total is 0.',
    'A source has at least one part.',
  ],
  'by-part-different-total-parts': [
    'video-content-range-by-part-different-total-parts',
    400,
    'The total has changed.',
    'Every request with a total must have the same total.',
  ],
  'by-part-uploaded-file-too-small': [
    'video-content-range-by-part-uploaded-file-too-small',
    400,
    'The part is too small.',
    'Every part except the last one must have at least 5 MiB.',
  ],
})

export const tusErrors = defineErrors({
  offsetConflict: [
    'upload-offset-conflict',
    409,
    'The offset does not match the current offset of the upload.',
    'tus uploads only. Send `HEAD` to the URL of the upload to get the current offset, and continue from there.',
  ],
  checksumMismatch: [
    'upload-checksum-mismatch',
    460,
    'The body does not match its checksum.',
    'tus uploads only. The server discarded the bytes of this request. Send them again.',
  ],
  tooLarge: [
    'upload-too-large',
    413,
    'The body exceeds the length of the upload.',
    'tus uploads only. The body must not exceed `Upload-Length`, which can be at most 2^53 - 1.',
  ],
  invalidRequest: [
    'invalid-tus-request',
    400,
    'The request is not valid in the tus protocol.',
    'A header is missing or malformed, or the upload is already complete. `title` describes the problem; `name` is the name of the header.',
  ],
  unsupportedVersion: [
    'tus-version-not-supported',
    412,
    'Tus-Resumable must be 1.0.0.',
    'Every tus request states the version of the protocol. The Tus-Version header lists the supported versions.',
  ],
  unsupportedExtension: [
    'tus-extension-not-supported',
    501,
    'This extension of the tus protocol is not supported.',
    '`OPTIONS /tus` lists the supported extensions. Turn off parallel uploads in the client.',
  ],
  unsupportedMediaType: [
    'unsupported-media-type',
    415,
    'Content-Type must be application/offset+octet-stream.',
    'The tus protocol requires this type for the bytes of a file.',
  ],
})
