import { useEffect, useRef, useState } from 'react'
import { useSession } from '../api/session.ts'
import { useEnvironment } from '../app/environment.ts'
import { messages } from '../messages/messages.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { formatNumber } from '../ui/format.ts'
import { Progress } from '../ui/progress.tsx'
import { ProcessingWatches } from './processing-watch.tsx'
import { summarize } from './summary.ts'
import type { Upload } from './types.ts'
import styles from './upload-panel.module.css'
import { UploadRow } from './upload-row.tsx'
import { uploads, useUploads } from './uploads.ts'

/** More rows than anybody reads. They appear as earlier ones are removed. */
const maxRows = 100

const isOver = ({ state }: Upload) => state === 'ready' || state === 'processing' || state === 'failed'

/** The uploads of the environment, at the corner of every view. */
export default function UploadPanel() {
  const list = useUploads(useEnvironment())
  const { csrfToken } = useSession()
  // With each login, uploads that the end of a session has interrupted continue.
  useEffect(() => {
    void uploads.restore()
  }, [csrfToken])
  return (
    <>
      <ProcessingWatches list={list} />
      {list.length > 0 && <Panel list={list} />}
    </>
  )
}

function Panel({ list }: { list: readonly Upload[] }) {
  const [isOpen, setOpen] = useState(() => matchMedia('(min-width: 700px)').matches)
  const panel = useDock()
  const { label, fraction } = summarize(list)
  const over = list.filter(isOver)
  return (
    <section ref={panel} className={styles.panel} aria-label={messages.upload.title}>
      <div className={styles.head}>
        <h2 className={styles.title} role="status">
          {label}
        </h2>
        {isOpen && over.length > 0 && (
          <Button variant="quiet" onClick={() => uploads.dismiss(...over.map(({ id }) => id))}>
            {messages.upload.clear}
          </Button>
        )}
        <IconButton
          icon={isOpen ? 'down' : 'up'}
          label={isOpen ? messages.upload.collapse : messages.upload.expand}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        />
      </div>
      {fraction !== undefined && <Progress fraction={fraction} label={messages.upload.title} />}
      {isOpen && (
        <ul className={styles.rows}>
          {list.slice(0, maxRows).map((upload) => (
            <UploadRow key={upload.id} upload={upload} />
          ))}
          {list.length > maxRows && (
            <li className={styles.more}>{messages.upload.moreRows(formatNumber(list.length - maxRows))}</li>
          )}
        </ul>
      )}
    </section>
  )
}

/** Toasts are shown above the panel. */
function useDock() {
  const panel = useRef<HTMLElement>(null)
  useEffect(() => {
    const root = document.documentElement
    const observer = new ResizeObserver(([entry]) => {
      root.style.setProperty('--dock-height', `${entry!.target.clientHeight}px`)
    })
    observer.observe(panel.current!)
    return () => {
      observer.disconnect()
      root.style.removeProperty('--dock-height')
    }
  }, [])
  return panel
}
