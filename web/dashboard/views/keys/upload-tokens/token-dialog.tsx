import { useSession } from '../../../api/session.ts'
import type { UploadToken } from '../../../api/upload-tokens.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Dialog, DialogActions } from '../../../ui/dialog.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { uploadSamples } from './upload-samples.ts'

type TokenDialogProps = { token: UploadToken; isNew?: boolean; onClose(): void }

/** A token and the code that uploads with it. */
export function TokenDialog({ token: { token }, isNew = false, onClose }: TokenDialogProps) {
  const { publicUrl } = useSession()
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={isNew ? messages.uploadTokens.createdTitle : messages.uploadTokens.shownTitle}
      description={messages.uploadTokens.warning}
    >
      <CodeBlock code={token} label={messages.uploadTokens.copyThis} />
      <Tabs
        label={messages.uploadTokens.samples}
        tabs={uploadSamples(publicUrl, token).map(({ label, code }) => ({
          value: label,
          label,
          content: <CodeBlock code={code} />,
        }))}
      />
      <DialogActions>
        <Button variant="primary" onClick={onClose}>
          {messages.keys.done}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
