/** A sentence about why the service cannot start. */
export class StartError extends Error {}

/** The error of a port that cannot be opened. `setting` is what chooses another port. */
export function listenError(
  error: NodeJS.ErrnoException,
  { host, port }: { host: string; port: number },
  setting: string,
): StartError {
  return new StartError(describe(error, host, port, setting), { cause: error })
}

function describe(error: NodeJS.ErrnoException, host: string, port: number, setting: string): string {
  if (error.code === 'EADDRINUSE')
    return `Port ${port} is in use by another program: stop it, or choose another port with ${setting}.`
  if (error.code === 'EACCES')
    return `This user is not allowed to use port ${port}: run "sudo sysctl net.ipv4.ip_unprivileged_port_start=${Math.min(port, 80)}" or "sudo setcap cap_net_bind_service=+ep ${process.execPath}", or choose a port above 1023 with ${setting}.`
  return `Cannot listen on ${host} port ${port}: ${error.message}.`
}
