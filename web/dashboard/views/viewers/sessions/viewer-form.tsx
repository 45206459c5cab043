import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { deleteViewer, metadataKeysQuery } from '../../../api/viewing-sessions.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { formatNumber } from '../../../ui/format.ts'
import { showToast } from '../../../ui/toast-list.ts'
import { useViewersSearch } from '../use-viewers-search.ts'
import styles from './sessions-tab.module.css'

/** Chooses one viewer by metadata, and deletes their data on request. */
export function ViewerForm() {
  const { environment, search, selections, change } = useViewersSearch()
  const client = useQueryClient()
  const { data: keys = [] } = useQuery(metadataKeysQuery(environment, selections.current))
  const [key, setKey] = useState(search.viewerKey ?? 'viewer')
  const [value, setValue] = useState(search.viewer ?? '')
  const [isDeleting, setDeleting] = useState(false)
  const listId = useId()
  const hasViewer = Boolean(search.viewerKey) && search.viewer !== undefined
  return (
    <Form className={styles.form} onSubmit={() => change({ viewerKey: key, viewer: value })}>
      <TextField
        label={messages.viewers.viewerKey}
        list={listId}
        required
        maxLength={255}
        value={key}
        onChange={(event) => setKey(event.target.value)}
      />
      <datalist id={listId}>
        {keys.map((each) => (
          <option key={each.key} value={each.key} />
        ))}
      </datalist>
      <TextField
        label={messages.viewers.viewerValue}
        required
        maxLength={2_000}
        value={value}
        onChange={(event) => setValue(event.target.value)}
      />
      <Button type="submit">{messages.viewers.viewerFind}</Button>
      {hasViewer && (
        <>
          <Button onClick={() => change({ viewerKey: undefined, viewer: undefined })}>
            {messages.viewers.viewerClear}
          </Button>
          <Button variant="quiet" icon="trash" onClick={() => setDeleting(true)}>
            {messages.viewers.viewerDelete}
          </Button>
        </>
      )}
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={messages.viewers.viewerDeleteTitle(`${search.viewerKey} = ${search.viewer}`)}
        description={messages.viewers.viewerDeleteText}
        action={messages.actions.delete}
        onConfirm={async () => {
          const pair = { key: search.viewerKey ?? '', value: search.viewer ?? '' }
          const { deleted } = await deleteViewer(environment, pair)
          await client.invalidateQueries({ queryKey: [environment, 'sessions'] })
          showToast(messages.viewers.viewerDeleted(formatNumber(deleted)))
        }}
      />
    </Form>
  )
}
