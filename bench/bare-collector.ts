import Fastify from 'fastify'

// The reference for viewing reports: parses the same bodies and responds without storing anything.

const app = Fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) =>
  done(null, JSON.parse(body as string)),
)
app.post<{ Body: { session: { session_id?: string } } }>('/collector/vod', async ({ body }) => ({
  session: body.session.session_id ?? 'ps',
}))

console.log(`bare ready ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
