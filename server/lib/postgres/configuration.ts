import { totalmem } from 'node:os'

/** A sixteenth of the memory, so that encoding has the rest; a container's limit counts as its memory. */
function sharedBuffersMb(): number {
  const memory = process.constrainedMemory() || Number.POSITIVE_INFINITY
  return Math.round(Math.min(1024, Math.max(128, Math.min(memory, totalmem()) / 16 / 1024 ** 2)))
}

/** The whole postgresql.conf, written anew before each start. `ALTER SYSTEM` still has the last word. */
export const configuration =
  () => `# Written by Kinora before each start of the server: changes here are lost.
# Use ALTER SYSTEM, which keeps its settings in postgresql.auto.conf.

# No network at all. The socket is in the data folder, which is the server's working folder: given like this,
# its path is short however deep the folder is.
listen_addresses = ''
unix_socket_directories = '.'
port = 5432

# Every process of Kinora has a pool, and its queue another.
max_connections = 200
shared_buffers = ${sharedBuffersMb()}MB

# A pod without huge pages on a host that has them dies of SIGBUS with "try".
huge_pages = off

# Kinora's queries are short: compiling them, or spreading them over cores that encode video, costs more than it
# gives. Parallel workers would also need more of /dev/shm than the 64 MB a container has.
jit = off
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0

# What was acknowledged survives a power cut.
fsync = on
synchronous_commit = on
full_page_writes = on

timezone = 'UTC'
log_timezone = 'UTC'
default_text_search_config = 'pg_catalog.english'
lc_monetary = 'C'
lc_numeric = 'C'
lc_time = 'C'

# Kinora reads what the server writes when it does not start.
lc_messages = 'C'

# To server.log, which Kinora keeps small: no routine lines, and no statements, which may hold what users wrote.
log_destination = 'stderr'
logging_collector = off
log_line_prefix = '%m [%p] '
log_checkpoints = off
log_min_error_statement = panic
`

/**
 * Who may connect: users of the system by their name, which the kernel tells the server. There is no password that could
 * be read from a file, and a process that runs as the server's own user does not get in.
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
