import { totalmem } from 'node:os'

/** One sixteenth of the memory, which leaves the rest for encoding. The memory of a container is its limit. */
function sharedBuffersMb(): number {
  const memory = process.constrainedMemory() || Number.POSITIVE_INFINITY
  return Math.round(Math.min(1024, Math.max(128, Math.min(memory, totalmem()) / 16 / 1024 ** 2)))
}

/** The complete postgresql.conf, written before each start. `ALTER SYSTEM` overrides it. */
export const configuration =
  () => `# Written by Kinora before each start of the server: changes here are lost.
# Use ALTER SYSTEM instead, which stores settings in postgresql.auto.conf.

# No network. The socket is in the data folder, which is the working folder of the server. A relative path keeps
# the path of the socket short even if the folder is deep.
listen_addresses = ''
unix_socket_directories = '.'
port = 5432

# Every Kinora process has a connection pool, and its queue has another.
max_connections = 200
shared_buffers = ${sharedBuffersMb()}MB

# With "try", a container without huge pages on a host that has them crashes with SIGBUS.
huge_pages = off

# The queries of Kinora are short, so JIT and parallel workers cost more than they save. Parallel workers also need
# more shared memory than the 64 MB of /dev/shm in a container.
jit = off
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0

# Acknowledged writes survive a power failure.
fsync = on
synchronous_commit = on
full_page_writes = on

timezone = 'UTC'
log_timezone = 'UTC'
default_text_search_config = 'pg_catalog.english'
lc_monetary = 'C'
lc_numeric = 'C'
lc_time = 'C'

# Kinora parses the messages of a server that does not start.
lc_messages = 'C'

# The log is server.log, which Kinora keeps small. It contains no routine messages, and no statements, because they may
# contain user data.
log_destination = 'stderr'
logging_collector = off
log_line_prefix = '%m [%p] '
log_checkpoints = off
log_min_error_statement = panic
`

/**
 * System users connect by peer authentication: the kernel tells the server the name of the user. This avoids a password
 * in a file, and processes that run as the user of the server cannot connect.
 */
export const accessRules = () => `# Written by Kinora before each start of the server: changes here are lost.
local all kinora peer map=kinora
local all all scram-sha-256
`

export const userMap = (clients: readonly string[]) =>
  ['# Written by Kinora before each start of the server: changes here are lost.']
    .concat(
      clients.map((name) => `kinora "${name}" kinora`),
      '',
    )
    .join('\n')
