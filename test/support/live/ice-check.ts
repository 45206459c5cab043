import { createHmac, randomBytes } from 'node:crypto'

/** A check of ICE, as an encoder sends it. */
export function writeIceCheck(username: string, password: string): Buffer {
  const attribute = (type: number, content: Buffer) => {
    const padded = Buffer.alloc(4 + 4 * Math.ceil(content.length / 4))
    padded.writeUInt16BE(type)
    padded.writeUInt16BE(content.length, 2)
    content.copy(padded, 4)
    return padded
  }
  const header = Buffer.from(`000100002112a442${randomBytes(12).toString('hex')}`, 'hex')
  const content = Buffer.concat([header, attribute(6, Buffer.from(username))])
  content.writeUInt16BE(content.length + 4, 2)
  return Buffer.concat([content, attribute(8, createHmac('sha1', password).update(content).digest())])
}
