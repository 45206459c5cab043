import { StudioSession } from './session.ts'
import './style.css'
import { Studio, showMessage } from './studio.ts'

const base = location.pathname.replace(/\/$/, '')
const token = new URLSearchParams(location.search).get('token')

try {
  const session = await StudioSession.open(base, token)
  // The token is used up, and the URL might be copied.
  history.replaceState(null, '', base)
  const { name } = await session.state()
  const isSupported = 'mediaDevices' in navigator && 'RTCPeerConnection' in window
  if (isSupported) await new Studio(session, name).open()
  else showMessage('This browser cannot broadcast', 'Open this page over HTTPS in a current browser.')
} catch (error) {
  showMessage('This link does not work', (error as Error).message)
}
