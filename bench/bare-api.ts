import Fastify from 'fastify'
import pg from 'pg'

// The reference for API requests: Fastify and the database driver, nothing else.

const pool = new pg.Pool({ connectionString: process.env.BARE_DATABASE, max: 20 })
const app = Fastify()

app.get<{ Params: { id: string } }>('/bare/:id', async (request) => {
  const { rows } = await pool.query('select * from bare where id = $1', [request.params.id])
  return rows[0]
})

app.post<{ Body: { id: string; title: string } }>('/bare', async (request, reply) => {
  const { title } = request.body
  const { rows } = await pool.query(
    'insert into bare (id, title, description, created_at) values ($1, $2, $3, now()) returning *',
    [crypto.randomUUID(), title, ''],
  )
  return reply.code(201).send(rows[0])
})

console.log(`bare ready ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
