import Fastify from 'fastify'

// What the benchmark measures against: the same bodies, read and answered at once, and nothing done with them.

const app = Fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) =>
  done(null, JSON.parse(body as string)),
)
app.post<{ Body: { session: { session_id?: string } } }>('/collector/vod', async ({ body }) => ({
  session: body.session.session_id ?? 'ps',
}))

console.log(`bare ready ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
