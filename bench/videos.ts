import type { Client } from 'pg'
import { metadataTerms, tagTerms } from '../server/videos/store.ts'

// Sample videos as on a busy service: titles of a few words, some common and most rare; tags with the same distribution;
// metadata with one of many customers, each with about twenty videos. All values are computed from the number of the
// video, so that every sample search has a result.

const letters = 'eeeeeeaaaaatttttoooooiiiinnnnssssrrrrhhhllldddcccuuummmfppggwyyb' + 'vkxqjz'

const scramble = (n: number, salt: number) => {
  let x = Math.imul(n + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d)
  x = Math.imul(x ^ (x >>> 12), 0x297a2d39)
  return (x ^ (x >>> 15)) >>> 0
}

/** Word n of the vocabulary: three to nine letters, some letters more frequent than others. */
const word = (n: number) =>
  Array.from(
    { length: 3 + (scramble(n, 0) % 7) },
    (_, i) => letters[scramble(n, i + 1) % letters.length],
  ).join('')

/** Small numbers are far more frequent than large ones. */
const skewed = (n: number, salt: number, range: number) => {
  return Math.floor(range * (scramble(n, salt) / 2 ** 32) ** 3)
}

const words = 20_000
export const wordsOf = (n: number) =>
  [1, 2, 3].map((salt) => word(skewed(n, salt, words))).concat(word(scramble(n, 4) % words))
const title = (n: number) => `${wordsOf(n).join(' ')} part ${n % 50}`
export const tagsOf = (n: number) => [...new Set([3, 4, 5].map((salt) => `tag-${skewed(n, salt, 5_000)}`))]
const customer = (n: number) => `customer-${Math.floor(n / 20)}`
const metadata = (n: number) => [
  { key: 'customer', value: customer(n) },
  { key: 'lesson', value: String(n % 20) },
]

/** Creates the indexes after the rows, which is many times faster than updating them for each row. */
export async function fillVideos(client: Client, from: number, to: number): Promise<void> {
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where tablename = 'all_videos' and indexname <> 'videos_pkey'`,
  )
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  const step = 10_000
  for (let start = from; start < to; start += step) {
    const numbers = Array.from({ length: Math.min(step, to - start) }, (_, i) => start + i)
    await client.query(
      `insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata,
                           tag_terms, metadata_terms, source_type, created_at, updated_at)
       select v ->> 'id', 'production', v ->> 'title', v ->> 'description', true, false, true,
              array(select jsonb_array_elements_text(v -> 'tags')), v -> 'metadata',
              array(select jsonb_array_elements_text(v -> 'tagTerms')::uuid),
              array(select jsonb_array_elements_text(v -> 'metadataTerms')::uuid), 'upload', t, t
       from jsonb_array_elements($1::jsonb) as v, lateral (select now() - (v ->> 'age')::int * interval '1 second') as l(t)`,
      [
        JSON.stringify(
          numbers.map((n) => ({
            id: `vi${String(n).padStart(22, '0')}`,
            title: title(n),
            description: `${title(n * 7 + 1)} ${title(n * 13 + 5)}`,
            tags: tagsOf(n),
            metadata: metadata(n),
            tagTerms: tagTerms('production', tagsOf(n)),
            metadataTerms: metadataTerms('production', metadata(n)),
            age: 2_000_000 - n,
          })),
        ),
      ],
    )
  }
  for (const { definition } of indexes) await client.query(definition)
  await client.query('vacuum analyze all_videos')
  await client.query('truncate video_counts, video_count_changes')
  await client.query(
    `insert into video_counts select environment, tag, count(*) from videos, unnest(tags || ''::text) as tag group by 1, 2`,
  )
}
