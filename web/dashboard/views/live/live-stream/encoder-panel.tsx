import { useState } from 'react'
import type { LiveStream } from '../../../api/live-streams.ts'
import { useSession } from '../../../api/session.ts'
import { commandName } from '../../../app/command-name.ts'
import { messages } from '../../../messages/messages.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { type Tab, Tabs } from '../../../ui/tabs.tsx'
import { Time } from '../../../ui/time.tsx'
import { maskedKey, StreamKey } from './stream-key.tsx'
import styles from './stream-panels.module.css'

/** Everything that has to be set in the encoder. */
export function EncoderPanel({ stream, isOnAir }: { stream: LiveStream; isOnAir: boolean }) {
  const { rtmpUrl, rtmpsUrl, srtUrl, whipUrl } = useSession()
  const servers = [rtmpsUrl, rtmpUrl].filter((url) => url !== null)
  const [server] = servers
  const [isKeyShown, setKeyShown] = useState(false)
  return (
    <Panel title={messages.live.encoder}>
      {servers.length === 0 && <p className={styles.notice}>{messages.live.serverMissing}</p>}
      {server && (
        <div className={styles.labelled}>
          <h3>{messages.live.server}</h3>
          {servers.map((url) => (
            <CodeBlock key={url} code={url} label={messages.live.copyServer} />
          ))}
        </div>
      )}
      <StreamKey stream={stream} isOnAir={isOnAir} isShown={isKeyShown} onShow={setKeyShown} />
      {stream.lastRefusal && (
        <div className={styles.notice}>
          <span>
            {messages.live.refused} (<Time value={stream.lastRefusal.at} />)
          </span>
          <strong>{stream.lastRefusal.reason}</strong>
        </div>
      )}
      {server && (
        <Tabs
          label={messages.live.settingsFor}
          tabs={[
            ...settingsTabs(server, stream, isKeyShown),
            ...srtTabs(srtUrl, stream, isKeyShown),
            ...whipTabs(whipUrl),
          ]}
        />
      )}
      <p className="secondary">{messages.live.keyFrames}</p>
    </Panel>
  )
}

const ffmpegCommand = (server: string, key: string) =>
  `ffmpeg -re -i film.mp4 -c:v libx264 -preset veryfast -g 60 -b:v 3M -maxrate 3M -bufsize 6M -c:a aac -f flv "${server}/${key}"`

const Steps = ({ steps }: { steps: string[] }) => (
  <ol className={styles.steps}>
    {steps.map((step) => (
      <li key={step}>{step}</li>
    ))}
  </ol>
)

const srtUrlOf = (srtUrl: string, key: string) => `${srtUrl}?streamid=${key}`

function srtTabs(
  srtUrl: string | null,
  { streamKey, srtPassphrase }: LiveStream,
  isKeyShown: boolean,
): Tab[] {
  if (!srtUrl) return []
  const content = (
    <div className={styles.stack}>
      <CodeBlock
        code={srtUrlOf(srtUrl, streamKey)}
        shown={srtUrlOf(srtUrl, isKeyShown ? streamKey : maskedKey)}
        label={messages.live.srtCopy}
      />
      <p className="secondary">{messages.live.srtHint(srtPassphrase !== null)}</p>
    </div>
  )
  return [{ value: 'srt', label: messages.live.srt, content }]
}

function settingsTabs(server: string, { liveStreamId, streamKey }: LiveStream, isKeyShown: boolean): Tab[] {
  return [
    {
      value: 'obs',
      label: messages.live.obs,
      content: <Steps steps={messages.live.obsSteps(server)} />,
    },
    {
      value: 'ffmpeg',
      label: messages.live.ffmpeg,
      content: (
        <div className={styles.stack}>
          <CodeBlock
            code={ffmpegCommand(server, streamKey)}
            language="sh"
            shown={ffmpegCommand(server, isKeyShown ? streamKey : maskedKey)}
            label={messages.live.ffmpegCopy}
          />
          <p className="secondary">{messages.live.ffmpegHint}</p>
        </div>
      ),
    },
    {
      value: 'test',
      label: messages.live.test,
      content: (
        <div className={styles.stack}>
          <CodeBlock
            code={`${commandName()} live publish --stream ${liveStreamId}`}
            language="sh"
            label={messages.live.ffmpegCopy}
          />
          <p className="secondary">{messages.live.testHint}</p>
        </div>
      ),
    },
  ]
}

function whipTabs(url: string | null): Tab[] {
  if (!url) return []
  const steps = messages.live.whipSteps(url)
  return [{ value: 'whip', label: messages.live.whip, content: <Steps steps={steps} /> }]
}
