import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import { type ApiResponse, assertProblem, call, query, sandboxKey, sharedKinora } from '../support/harness.ts'
import { createVideo } from '../support/videos.ts'

// Lists: pagination, and every notation in which clients send filters.

const service = sharedKinora()

async function createVideos(...attributes: object[]) {
  for (const json of attributes) await createVideo(service, json)
}

async function get(path: string): Promise<ApiResponse> {
  const response = await call(service.url + path)
  assert.equal(response.status, 200, response.text)
  return response
}

/** The titles of the matching videos, sorted. */
async function findTitles(search: string): Promise<string[]> {
  const { body } = await get(`/videos?sortBy=title&sortOrder=asc&${search}`)
  assert.equal(body.pagination.itemsTotal, body.data.length)
  return body.data.map((video: { title: string }) => video.title)
}

type Link = { rel: string; uri: string }
const links = ({ body }: ApiResponse): Record<string, string> =>
  Object.fromEntries(body.pagination.links.map(({ rel, uri }: Link) => [rel, uri]))

describe('pagination', () => {
  test('an empty list has one empty page', async () => {
    for (const path of ['/videos', '/tags']) {
      const response = await get(path)
      assert.deepEqual(response.body.data, [])
      const { links: _, ...numbers } = response.body.pagination
      assert.deepEqual(numbers, {
        currentPage: 1,
        pageSize: 25,
        pagesTotal: 1,
        itemsTotal: 0,
        currentPageItems: 0,
      })
      assert.deepEqual(Object.keys(links(response)), ['self', 'first', 'last'])
    }
  })

  test('links lead through all pages, keep filters and sort order, and exist only if their page exists', async () => {
    await createVideos(...Array.from({ length: 7 }, (_, i) => ({ title: `é&=${i}`, tags: ['a b', 'c&d'] })))
    await createVideos({ title: 'é&=other' })
    const search = 'title=%C3%A9%26%3D&tags[]=a+b&tags[]=c%26d&sortBy=title&sortOrder=desc&pageSize=3'
    const titles: string[] = []
    let path: string | undefined = `/videos?${search}`
    const rels: string[] = []
    while (path) {
      const response: ApiResponse = await get(path)
      titles.push(...response.body.data.map((video: { title: string }) => video.title))
      rels.push(Object.keys(links(response)).join(' '))
      assert.equal(response.body.pagination.itemsTotal, 7)
      path = links(response).next
      assert.ok(titles.length <= 7)
    }
    assert.deepEqual(
      titles,
      [6, 5, 4, 3, 2, 1, 0].map((i) => `é&=${i}`),
    )
    assert.deepEqual(rels, [
      'self first next last',
      'self first previous next last',
      'self first previous last',
    ])

    const middle = links(await get(`/videos?${search}&currentPage=2`))
    for (const [rel, page] of Object.entries({ self: 2, first: 1, previous: 1, next: 3, last: 3 })) {
      assert.ok(middle[rel]?.startsWith('/videos?'), rel)
      assert.equal((await get(middle[rel]!)).body.pagination.currentPage, page, rel)
    }
  })

  test('links keep metadata filters', async () => {
    await createVideos({ metadata: [{ 'a=b&c': 'd [e]' }] }, { metadata: [{ 'a=b&c': 'd [e]' }] })
    const first = await get(`/videos?pageSize=1&metadata[${encodeURIComponent('a=b&c')}]=d+%5Be%5D`)
    assert.equal(first.body.pagination.itemsTotal, 2)
    const second = await get(links(first).next!)
    assert.equal(second.body.pagination.itemsTotal, 2)
    assert.notEqual(second.body.data[0].id, first.body.data[0].id)
  })

  test('a page past the end is empty and contains the totals', async () => {
    await createVideos({ tags: ['a'] }, { tags: ['b'] })
    for (const path of ['/videos?', '/videos?title=&', '/tags?']) {
      for (const currentPage of [3, 2_147_483_647]) {
        const { body } = await get(`${path}currentPage=${currentPage}&pageSize=1`)
        assert.deepEqual(body.data, [], path)
        const { pagesTotal, itemsTotal, currentPageItems } = body.pagination
        assert.deepEqual([pagesTotal, itemsTotal, currentPageItems], [2, 2, 0], path)
        assert.equal(body.pagination.currentPage, currentPage)
      }
    }
  })

  test('a page has up to 100 items, and every video is on exactly one page in every sort order', async () => {
    await createVideos(...Array.from({ length: 105 }, (_, i) => ({ title: 'same', tags: [`t${i % 103}`] })))
    await query(service.database, `update videos set created_at = now(), updated_at = now()`)
    for (const sortBy of ['title', 'createdAt', 'updatedAt', 'publishedAt']) {
      const pages = await Promise.all(
        [1, 2].map((n) => get(`/videos?sortBy=${sortBy}&pageSize=100&currentPage=${n}`)),
      )
      assert.deepEqual(
        pages.map(({ body }) => body.data.length),
        [100, 5],
      )
      const ids = pages.flatMap(({ body }) => body.data.map((video: { id: string }) => video.id))
      assert.equal(new Set(ids).size, 105, sortBy)
    }
    const tags = await get('/tags?sortBy=videoCount&sortOrder=desc&pageSize=100&currentPage=2')
    assert.equal(tags.body.pagination.itemsTotal, 103)
    assert.equal(tags.body.data.length, 3)
  })

  test('titles of 1,000 characters of three and four bytes are created, listed by title and changed', async () => {
    // Random, because Postgres compresses texts that repeat, before it compares them with the limits of an index.
    const randomTitle = (first: number, count: number) =>
      String.fromCodePoint(...Array.from({ length: 1_000 }, () => first + randomInt(count)))
    const chinese = () => randomTitle(0x4e00, 20_000)
    const emoji = () => randomTitle(0x1f300, 700)
    const listed = async () => new Set(await findTitles('tags[]=long-titles'))

    const titles = [chinese(), emoji()]
    await createVideos(...titles.map((title) => ({ title, tags: ['long-titles'] })))
    assert.deepEqual(await listed(), new Set(titles))

    const changed = [chinese(), emoji()]
    const { body } = await get('/videos?tags[]=long-titles')
    for (const [i, { videoId }] of body.data.entries()) {
      const json = { title: changed[i] }
      const response = await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })
      assert.equal(response.status, 200, response.text)
    }
    assert.deepEqual(await listed(), new Set(changed))
    for (const { videoId } of body.data)
      assert.equal((await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })).status, 204)
  })

  test('each environment is counted separately', async () => {
    await createVideos({ tags: ['x'] })
    const response = await call(`${service.url}/sandbox/videos?tags[]=x`, { key: sandboxKey })
    assert.equal(response.body.pagination.itemsTotal, 0)
    const tags = await call(`${service.url}/sandbox/tags`, { key: sandboxKey })
    assert.deepEqual(tags.body.data, [])
  })

  test('counts stay correct after videos are created, changed and deleted', async () => {
    await createVideos(
      ...Array.from({ length: 6 }, (_, i) => ({ title: `${i}`, tags: i % 2 ? ['odd'] : ['even'] })),
    )
    const { body } = await get('/videos?tags[]=odd')
    assert.equal(body.pagination.itemsTotal, 3)
    const [first, second] = body.data
    await call(`${service.url}/videos/${first.id}`, { method: 'DELETE' })
    await call(`${service.url}/videos/${second.id}`, { method: 'PATCH', json: { tags: ['even', 'new'] } })
    const count = async (path: string) => (await get(path)).body.pagination.itemsTotal
    assert.deepEqual(
      [
        await count('/videos'),
        await count('/videos?tags[]=odd'),
        await count('/videos?tags[]=even'),
        await count('/videos?tags[]=even&tags[]=new'),
        await count('/tags'),
      ],
      [5, 1, 4, 1, 3],
    )
  })
})

describe('filters', () => {
  test('a tag filter is accepted in every notation that clients use', async () => {
    await createVideos({ title: 'one', tags: ['a b'] }, { title: 'both', tags: ['a b', 'c'] })
    for (const search of [
      'tags[]=a+b&tags[]=c',
      'tags%5B%5D=a%20b&tags%5B%5D=c',
      'tags=a+b&tags=c',
      'tags[0]=a+b&tags[1]=c',
      'tags[][0]=a+b&tags[][1]=c',
      'tags%5B%5D%5B0%5D=a+b&tags%5B%5D%5B1%5D=c',
      'tags[]=a+b&tags=c&tags[]=c',
    ]) {
      assert.deepEqual(await findTitles(search), ['both'], search)
    }
    for (const search of ['tags[]=a+b', 'tags=a+b', 'tags[]=a+b&tags[]=a+b', 'tags[]=a+b&tags[]=']) {
      assert.deepEqual(await findTitles(search), ['both', 'one'], search)
    }
    assert.deepEqual(await findTitles('tags[]=A+B'), [])
    assert.deepEqual(await findTitles('tags[]=a+b,c'), [])
    assert.deepEqual(await findTitles('tags[]='), ['both', 'one'])
  })

  test('a metadata filter matches exact pairs, with any characters, and all of them must match', async () => {
    await createVideos(
      { title: 'a', metadata: [{ k: 'v' }, { 'é & ü': 'ß=?' }] },
      { title: 'b', metadata: [{ k: 'v' }, { 'k 1': 'v' }, { __proto__x: '%_\\' }] },
      { title: 'c', metadata: [{ key: 'k', value: 'V' }] },
    )
    for (const [search, expected] of [
      ['metadata[k]=v', 'ab'],
      ['metadata%5Bk%5D=v', 'ab'],
      ['metadata[k]=V', 'c'],
      ['metadata[k]=', ''],
      ['metadata[K]=v', ''],
      ['metadata[k]=v&metadata[k+1]=v', 'b'],
      [`metadata[${encodeURIComponent('é & ü')}]=${encodeURIComponent('ß=?')}`, 'a'],
      [`metadata[__proto__x]=${encodeURIComponent('%_\\')}`, 'b'],
      ['metadata[k]=v&metadata[nothing]=v', ''],
      ['metadata[__proto__]=v', ''],
      ['metadata[constructor]=v', ''],
    ] as const) {
      assert.equal((await findTitles(search)).join(''), expected, search)
    }
  })

  test('title and description filters match any substring and ignore case', async () => {
    await createVideos(
      { title: 'Ünter den LINDEN', description: 'Straßen in Berlin' },
      { title: 'Żółta łódź', description: 'Pełny opis' },
      { title: 'ab', description: 'xy' },
      { title: '日本語の動画', description: '説明' },
      { title: '🎬🎬🎬🎬 take', description: '' },
    )
    for (const [search, expected] of [
      ['title=linden', ['Ünter den LINDEN']],
      ['title=üNTER', ['Ünter den LINDEN']],
      ['title=R+DEN+L', ['Ünter den LINDEN']],
      ['title=ŻÓŁTA+ŁÓ', ['Żółta łódź']],
      ['title=A', ['ab', 'Żółta łódź', '🎬🎬🎬🎬 take']],
      ['title=本語', ['日本語の動画']],
      ['title=日本語の動画', ['日本語の動画']],
      ['title=🎬🎬🎬', ['🎬🎬🎬🎬 take']],
      ['description=STRAßEN', ['Ünter den LINDEN']],
      ['description=PEŁNY', ['Żółta łódź']],
      ['title=ab&description=Y', ['ab']],
      ['title=linden+den', []],
    ] as const) {
      assert.deepEqual((await findTitles(search)).sort(), [...expected].sort(), search)
    }
  })

  test('a search finds videos whose texts contain all words, in any order and any field', async () => {
    await createVideos(
      { title: 'Sourdough for beginners', description: 'Bread without yeast', tags: ['Baking'] },
      { title: 'Crème Brûlée', metadata: [{ course: 'Desserts & Sweets' }, { lecturer_id: '50%' }] },
      { title: 'Żółta łódź', description: 'bread', tags: ['sailing', 'a\\b'] },
      { title: '日本語の動画' },
    )
    for (const [search, expected] of [
      ['bread', ['Sourdough for beginners', 'Żółta łódź']],
      ['BREAD sour', ['Sourdough for beginners']],
      ['baking  yeast\tbeginners bread bread', ['Sourdough for beginners']],
      ['creme brulee', ['Crème Brûlée']],
      ['BRÛLE\u0301E', ['Crème Brûlée']],
      ['sweets creme', ['Crème Brûlée']],
      ['course', ['Crème Brûlée']],
      ['lecturer_', ['Crème Brûlée']],
      ['lecturerxid', []],
      ['50%', ['Crème Brûlée']],
      ['5%0', []],
      ['a\\b', ['Żółta łódź']],
      ['zo', ['Żółta łódź']],
      ['本語', ['日本語の動画']],
      ['bread creme', []],
      ['brulee course', ['Crème Brûlée']],
      ['bruleecourse', []],
      ["' or true --", []],
    ] as const) {
      const found = await findTitles(`search=${encodeURIComponent(search)}`)
      assert.deepEqual(found.sort(), [...expected].sort(), search)
    }
    assert.deepEqual(await findTitles('search=bread&tags[]=Baking'), ['Sourdough for beginners'])
    assert.equal((await findTitles('search=+&')).length, 4)
    assertProblem(
      await call(`${service.url}/videos?search=${'x'.repeat(201)}`),
      400,
      'request-invalid-query-parameter',
      'search',
    )
    assertProblem(
      await call(`${service.url}/videos?search=%00`),
      400,
      'request-invalid-query-parameter',
      'search',
    )
  })

  test('a search finds a video by its id, follows changes, and finds nothing of the other environment', async () => {
    await createVideos({ title: 'one', tags: ['old'] }, { title: 'two' })
    const [{ id }] = (await get('/videos?search=one')).body.data
    assert.deepEqual(await findTitles(`search=+${id}+`), ['one'])
    assert.deepEqual(await findTitles(`search=${id.slice(0, -1)}`), [])
    const sandbox = await call(`${service.url}/sandbox/videos?search=${id}`, { key: sandboxKey })
    assert.equal(sandbox.body.pagination.itemsTotal, 0)
    await call(`${service.url}/videos/${id}`, {
      method: 'PATCH',
      json: { tags: ['new'], metadata: [{ key: 'x', value: 'changed' }] },
    })
    assert.deepEqual(await findTitles('search=old'), [])
    assert.deepEqual(await findTitles('search=new+changed+one'), ['one'])
  })

  const insertClips = () =>
    query(
      service.database,
      `insert into all_videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata,
         tag_terms, metadata_terms, source_type, created_at, updated_at)
       select 'vi' || lpad(n::text, 22, '0'), 'production', 'clip ' || lpad(n::text, 4, '0'), '', true, false, true, '{}', '[]',
         '{}', '{}', 'upload', now(), now() from generate_series(1, 5200) n`,
    )

  test('a search that finds more than it lists still returns the first videos of the sort order', async () => {
    await insertClips()
    const page = async (search: string) => {
      const { body } = await get(`/videos?search=clip&sortBy=title&sortOrder=asc&pageSize=100&${search}`)
      return [body.data.length, body.data[0]?.title, body.pagination.itemsTotal, body.pagination.pagesTotal]
    }
    assert.deepEqual(await page(''), [100, 'clip 0001', 5_000, 50])
    assert.deepEqual(await page('currentPage=50'), [100, 'clip 4901', 5_000, 50])
    assert.deepEqual(await page('currentPage=51'), [0, undefined, 5_000, 50])
    assert.deepEqual((await get('/videos?search=clip+0007')).body.pagination.itemsTotal, 1)
  })

  test('a client that reads pages while there are more gets all videos of a filter, though not all are counted', async () => {
    await insertClips()
    for (const filter of ['title=clip', 'title=c', 'status=missing']) {
      const titles: string[] = []
      for (let currentPage = 1, pagesTotal = 1; currentPage <= pagesTotal; currentPage++) {
        const { body } = await get(
          `/videos?${filter}&sortBy=title&sortOrder=asc&pageSize=100&currentPage=${currentPage}`,
        )
        if (currentPage === 1) assert.equal(body.pagination.itemsTotal, 5_000, filter)
        assert.equal(body.pagination.currentPageItems, 100)
        pagesTotal = body.pagination.pagesTotal
        titles.push(...body.data.map(({ title }: { title: string }) => title))
      }
      assert.equal(titles.length, 5_200, filter)
      assert.deepEqual([titles[0], titles.at(-1), new Set(titles).size], ['clip 0001', 'clip 5200', 5_200])
      const last = await get(`/videos?${filter}&pageSize=100&currentPage=52`)
      assert.equal(last.body.pagination.itemsTotal, 5_200, filter)
      const beyond = await get(`/videos?${filter}&pageSize=100&currentPage=53`)
      assert.deepEqual([beyond.body.data, beyond.body.pagination.itemsTotal], [[], 5_000], filter)
    }
  })

  test('public, creation time and status filter the list, and the status is what the status request shows', async () => {
    await createVideos(
      { title: 'missing' },
      { title: 'begun', public: false },
      { title: 'uploading' },
      { title: 'stored' },
    )
    await createVideos(
      { title: 'encoding' },
      { title: 'encoded' },
      { title: 'unreadable' },
      { title: 'unreachable' },
    )
    const source = `insert into sources (video_id, form, handle, state, failure, received_pieces, created_at, updated_at)
      select id, 'whole', id, $2, $3, $4, now(), now() from videos where title = $1`
    const encoding = `insert into encodings (video_id, environment, state, failure, media, plan, created_at)
      select id, 'production', $2, $3, $4, $5, now() from videos where title = $1`
    const plan = { rate: { num: 25, den: 1 }, frames: 50, rungs: [{ quality: '240p' }], hasSound: false }
    const media = { durationSeconds: 61.6, picture: { width: 1280, height: 720 } }
    for (const [sql, ...values] of [
      [source, 'begun', 'receiving', null, 0],
      [source, 'uploading', 'receiving', null, 1],
      [source, 'stored', 'stored', null, 1],
      [source, 'encoding', 'stored', null, 1],
      [source, 'encoded', 'stored', null, 1],
      [source, 'unreadable', 'stored', null, 1],
      [source, 'unreachable', 'failed', 'The server responded with status 404.', 0],
      [encoding, 'encoding', 'encoding', null, media, plan],
      [encoding, 'encoded', 'encoded', null, media, plan],
      [encoding, 'unreadable', 'failed', 'It is no video.', null, null],
      [
        `insert into renditions (video_id, type, quality, height, state)
        select id, 'hls', '240p', 240, title from videos where title = $1`,
        'encoded',
      ],
      [
        `insert into segments (video_id, rendition, first_segment, sizes, key)
        select id, '240p', 0, '{1}', 'x' from videos where title = $1`,
        'encoding',
      ],
      [`update videos set created_at = '2026-01-02T03:04:05Z' where title = $1`, 'begun'],
    ] as [string, ...unknown[]][])
      await query(service.database, sql, values)

    for (const [search, expected] of [
      ['status=missing', ['begun', 'missing']],
      ['status=processing', ['encoding', 'stored', 'uploading']],
      ['status=ready', ['encoded']],
      ['status=failed', ['unreachable', 'unreadable']],
      ['status=failed&search=unread', ['unreadable']],
      ['public=false', ['begun']],
      ['public=true&status=missing', ['missing']],
      ['createdBefore=2026-01-02T03:04:06Z', ['begun']],
      ['createdBefore=2026-01-02T03:04:05Z', []],
      ['createdAfter=2026-01-02T03:04:05Z&createdBefore=2026-01-03', ['begun']],
      ['createdAfter=2026-01-02T03:04:06Z&status=missing', ['missing']],
    ] as const)
      assert.deepEqual(await findTitles(search), expected, search)
    for (const search of [
      'status=done',
      'public=yes',
      'createdAfter=yesterday',
      'createdBefore=2026-13-01',
      'include[]=all',
    ])
      assertProblem(
        await call(`${service.url}/videos?${search}`),
        400,
        'request-invalid-query-parameter',
        search.split('=')[0]!.replace('[]', '[0]'),
      )

    const { body } = await get('/videos?include[]=status&include=preview&sortBy=title&sortOrder=asc')
    const [encoded, playing] = [body.data[1], body.data[2]]
    assert.deepEqual(encoded.status, {
      state: 'ready',
      playable: true,
      duration: 2,
      width: 1280,
      height: 720,
      thumbnailVersion: null,
    })
    assert.deepEqual(
      [playing.title, playing.status.state, playing.status.playable],
      ['encoding', 'processing', true],
    )
    const failures = body.data
      .map(({ status }: { status: { failure?: string } }) => status.failure)
      .filter(Boolean)
    assert.deepEqual(failures, ['The server responded with status 404.', 'It is no video.'])
    for (const video of body.data) {
      const { ingest, encoding } = (await get(`/videos/${video.id}/status`)).body
      assert.equal(video.status.state === 'missing', ingest === null, video.title)
      assert.equal(video.status.playable, encoding.playable, video.title)
      assert.equal(video.status.duration, encoding.metadata.duration, video.title)
      assert.equal('preview' in video.assets, false)
      assert.deepEqual((await get(`/videos/${video.id}?include=status`)).body.status, video.status)
    }
    assert.equal('status' in (await get('/videos')).body.data[0], false)
  })

  test('SQL wildcards in a filter match literally', async () => {
    await createVideos(
      { title: '100% sure' },
      { title: '100 sure' },
      { title: 'a_b' },
      { title: 'aXb' },
      { title: 'c\\d' },
    )
    await createVideos({ title: 'tagged', tags: ['50%', '50', 'x_y', 'xzy', 'b\\s'] })
    for (const [search, expected] of [
      ['0%', ['100% sure']],
      ['100% sure', ['100% sure']],
      ['%', ['100% sure']],
      ['a_b', ['a_b']],
      ['_', ['a_b']],
      ['\\', ['c\\d']],
      ['c\\d', ['c\\d']],
      ['100%%', []],
    ] as const) {
      assert.deepEqual(await findTitles(`title=${encodeURIComponent(search)}`), expected, search)
    }
    for (const [value, expected] of [
      ['0%', '50%'],
      ['x_', 'x_y'],
      ['\\', 'b\\s'],
    ] as const) {
      const { body } = await get(`/tags?value=${encodeURIComponent(value)}`)
      assert.deepEqual(
        body.data.map((tag: { value: string }) => tag.value),
        [expected],
      )
    }
  })

  test('the tag search matches any substring and ignores case and accents', async () => {
    await createVideos({ tags: ['Crème Brûlée', 'CREME', 'straße', 'naïveté', 'other'] })
    for (const [value, expected] of [
      ['creme', ['Crème Brûlée', 'CREME']],
      ['CRÈME', ['Crème Brûlée', 'CREME']],
      ['bru', ['Crème Brûlée']],
      ['cre%CC%80me', ['Crème Brûlée', 'CREME']],
      ['IVETE', ['naïveté']],
      ['zzz', []],
      ['', ['Crème Brûlée', 'CREME', 'straße', 'naïveté', 'other']],
    ] as const) {
      const { body } = await get(`/tags?value=${value}`)
      assert.deepEqual(
        body.data.map((tag: { value: string }) => tag.value).sort(),
        [...expected].sort(),
        value,
      )
      assert.ok(body.data.every((tag: { videoCount: unknown }) => tag.videoCount === 1))
    }
  })

  test('empty and unknown parameters do not filter the list', async () => {
    await createVideos({ title: 'a' }, { title: 'b' })
    for (const search of ['title=', 'description=', 'tags[]=', 'foo=bar', '', '&&&=&'])
      assert.deepEqual(await findTitles(search), ['a', 'b'], search)
  })
})
