import { type Check, type CheckResult, type DoctorContext, runChecks } from './check.ts'
import { dataFolderCheck, diskSpeedCheck, spaceCheck } from './data-folder.ts'
import { clockCheck, connectionsCheck, databaseCheck } from './database.ts'
import { dnsCheck } from './dns.ts'
import { ffmpegCheck } from './ffmpeg.ts'
import { storeCheck, storeClockCheck } from './file-store.ts'
import { coresCheck, memoryCheck, nodeCheck, userCheck } from './host.ts'
import { portsCheck } from './ports.ts'
import { publicUrlCheck } from './public-url.ts'
import { replicationCheck } from './replication.ts'
import { backupCheck, certificateCheck, processesCheck, serviceCheck } from './service.ts'
import { settingsCheck } from './settings.ts'

const checks: readonly Check[] = [
  settingsCheck,
  nodeCheck,
  userCheck,
  coresCheck,
  memoryCheck,
  dataFolderCheck,
  spaceCheck,
  diskSpeedCheck,
  databaseCheck,
  connectionsCheck,
  replicationCheck,
  clockCheck,
  storeCheck,
  storeClockCheck,
  ffmpegCheck,
  portsCheck,
  serviceCheck,
  processesCheck,
  dnsCheck,
  publicUrlCheck,
  certificateCheck,
  backupCheck,
]

/** The service itself is running and has its ports. A measurement of its disk would compete with its own work. */
const notWhileServing: readonly Check[] = [diskSpeedCheck, portsCheck, serviceCheck]

/** Everything that the command checks. */
export const examine = (context: DoctorContext): Promise<CheckResult[]> => runChecks(checks, context)

/** What a process that serves requests checks about itself. */
export const examineQuickly = (context: DoctorContext): Promise<CheckResult[]> =>
  runChecks(
    checks.filter((check) => !notWhileServing.includes(check)),
    context,
  )
