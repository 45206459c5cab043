import { readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Writes a Brotli and a gzip version of a file next to it. */
export async function compress(path: string): Promise<void> {
  const content = readFileSync(path)
  const params = {
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    // For 4 MB, the best quality takes half a minute and saves 12 %.
    [constants.BROTLI_PARAM_QUALITY]: content.length > 1024 * 1024 ? 6 : constants.BROTLI_MAX_QUALITY,
  }
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(content, { params }),
    promisify(gzip)(content, { level: 9 }),
  ])
  writeFileSync(`${path}.br`, br)
  writeFileSync(`${path}.gz`, gz)
}
