import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import { normalizePassword } from './settings.ts'

// One hash takes 32 MiB and about 0.1 s of CPU time.
const cost = 2 ** 15
const blockSize = 8
const hashBytes = 32
const saltBytes = 16

/** More hashes at once would take the CPU time and the memory of all other requests. */
const limit = createConcurrencyLimit(2, 16)

/** Returns `scrypt$cost$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  const hash = await derive(password, salt, cost)
  return ['scrypt', cost, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Takes the same time for a wrong password, and if there is none. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, usedCost, salt = '', hash = ''] = stored?.split('$') ?? []
  const expected = stored === undefined ? Buffer.alloc(hashBytes) : Buffer.from(hash, 'base64url')
  const actual = await derive(password, Buffer.from(salt, 'base64url'), Number(usedCost ?? cost))
  return timingSafeEqual(actual, expected) && stored !== undefined
}

function derive(password: string, salt: Buffer, N: number): Promise<Buffer> {
  const options: ScryptOptions = { N, r: blockSize, p: 1, maxmem: 256 * N * blockSize }
  const result = limit.run(
    () =>
      new Promise<Buffer>((resolve, reject) => {
        scrypt(normalizePassword(password), salt, hashBytes, options, (error, hash) =>
          error ? reject(error) : resolve(hash),
        )
      }),
  )
  if (!result) throw new ApiError(httpErrors.tooManyRequests, { headers: { 'retry-after': '2' } })
  return result
}
