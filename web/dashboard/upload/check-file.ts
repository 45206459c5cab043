import { messages } from '../messages/messages.ts'

/** Kinds of files that Kinora certainly cannot encode. Browsers do not know the kind of many videos. */
const wrongKind =
  /^(image|text|font|model)\/|^application\/(pdf|json|xml|zip|gzip|x-(tar|7z|zip|rar|msdown|ms-dos).*|msword|vnd\.(?!.*(mpegurl|realmedia|rn-)).*)$/i

/** A sentence about why a file cannot be uploaded, or undefined. */
export function checkFile({ size, type, name }: File): string | undefined {
  if (size === 0) return messages.upload.emptyFile
  if (wrongKind.test(type)) return messages.upload.wrongKind
  if (name.length > 1_000) return messages.upload.longName
  return undefined
}
