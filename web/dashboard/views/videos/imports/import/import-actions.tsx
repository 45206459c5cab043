import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { changeImport, type Import, importQuery, importsQuery, reportUrl } from '../../../../api/imports.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { importMessages as t } from '../../../../messages/imports.ts'
import { Button, buttonClass } from '../../../../ui/button.tsx'
import { ConfirmDialog } from '../../../../ui/confirm-dialog.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { showError, showToast } from '../../../../ui/toast-list.ts'

export function ImportActions({ run: { importId, state, dryRun } }: { run: Import }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [isCanceling, setCanceling] = useState(false)
  const send = async (action: 'pause' | 'resume' | 'cancel') => {
    const changed = await changeImport(environment, importId, action)
    client.setQueryData(importQuery(environment, importId).queryKey, changed)
    void client.invalidateQueries({ queryKey: [environment, 'imports', importId, 'items'] })
    void client.invalidateQueries(importsQuery(environment))
  }
  const change = useMutation({ mutationFn: send, onError: showError })
  const start = () => change.mutate('resume', { onSuccess: () => showToast(t.started) })
  const isOpen = state === 'running' || state === 'ready' || state === 'paused'
  return (
    <>
      {state === 'ready' && (
        <Button variant="primary" icon="play" aria-disabled={change.isPending} onClick={start}>
          {t.start}
        </Button>
      )}
      {state === 'running' && (
        <Button icon="pause" aria-disabled={change.isPending} onClick={() => change.mutate('pause')}>
          {t.pause}
        </Button>
      )}
      {state === 'paused' && (
        <Button
          variant="primary"
          icon="play"
          aria-disabled={change.isPending}
          onClick={() => change.mutate('resume')}
        >
          {t.resume}
        </Button>
      )}
      {isOpen && (
        <Button icon="stop" onClick={() => setCanceling(true)}>
          {t.cancel}
        </Button>
      )}
      {!dryRun && (
        <a className={buttonClass()} href={reportUrl(environment, importId)} download={`${importId}.csv`}>
          <Icon name="download" size={16} />
          {t.report}
        </a>
      )}
      <ConfirmDialog
        isOpen={isCanceling}
        onClose={() => setCanceling(false)}
        title={t.cancelTitle}
        description={t.cancelText}
        action={t.cancel}
        onConfirm={async () => {
          await send('cancel')
          showToast(t.canceled)
        }}
      />
    </>
  )
}
