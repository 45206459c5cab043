import { useEffect, useState } from 'react'
import type { Environment } from '../api/client.ts'
import { useEnvironment } from '../app/environment.ts'
import { messages } from '../messages/messages.ts'
import { Icon } from '../ui/icon.tsx'
import { loadWithRetry } from '../ui/load-with-retry.ts'
import { showError } from '../ui/toast-list.ts'
import styles from './drop-zone.module.css'
import { type Drop, readDrop } from './picked-files.ts'

/** A field for files takes what is dropped on it. */
const isForField = ({ target }: Event) => target instanceof Element && target.closest('[type=file]') !== null

const hasFiles = (event: DragEvent) =>
  event.dataTransfer?.types.includes('Files') === true && !isForField(event)

/** Uploads files that are dropped anywhere on the page. */
export function DropZone() {
  const isOver = useDrop()
  return (
    isOver && (
      <div className={styles.overlay}>
        <div className={styles.message}>
          <Icon name="upload" size={32} />
          {messages.upload.dropHere}
        </div>
      </div>
    )
  )
}

function useDrop(): boolean {
  const environment = useEnvironment()
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const onDragOver = (event: DragEvent) => {
      setOver(hasFiles(event))
      if (hasFiles(event)) event.preventDefault()
    }
    const onDragLeave = (event: DragEvent) => {
      // Null when the pointer leaves the window.
      if (event.relatedTarget === null) setOver(false)
    }
    const onDrop = (event: DragEvent) => {
      setOver(false)
      if (!hasFiles(event)) return
      event.preventDefault()
      void addDrop(environment, readDrop(event.dataTransfer!)).catch(showError)
    }
    window.addEventListener('dragover', onDragOver)
    window.addEventListener('dragleave', onDragLeave)
    window.addEventListener('drop', onDrop)
    return () => {
      window.removeEventListener('dragover', onDragOver)
      window.removeEventListener('dragleave', onDragLeave)
      window.removeEventListener('drop', onDrop)
    }
  }, [environment])
  return isOver
}

/** The first view can be used before the code of the uploads is loaded. */
async function addDrop(environment: Environment, drop: Promise<Drop>): Promise<void> {
  const { uploads } = await loadWithRetry(() => import('./uploads.ts'))
  uploads.addDrop(environment, await drop)
}
