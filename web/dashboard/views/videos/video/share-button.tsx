import { useCallback } from 'react'
import type { Video } from '../../../api/types.ts'
import { fetchVideo } from '../../../api/video.ts'
import { useCommand } from '../../../app/commands.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { useShareLinks } from '../../../app/use-share-links.ts'
import { messages } from '../../../messages/messages.ts'
import { CopyButton, copyText } from '../../../ui/copy-button.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showError, showToast } from '../../../ui/toast-list.ts'

const words = messages.video.embed

/** Copies the embed code of a public video, or the link of a private one, which is for one viewer. */
export function ShareButton({ video }: { video: Video }) {
  const { public: isPublic, videoId } = video
  const environment = useEnvironment()
  const { assets, error, renew } = useShareLinks(video, 'share')
  const iframe = isPublic ? video.assets.iframe : undefined
  useCommand({
    id: 'copy-embed-code',
    label: words.copyCode,
    run: useCallback(() => {
      // The player of the page has used up the one that came with a private video.
      const code = iframe ?? fetchVideo(environment, videoId).then((each) => each.assets.iframe)
      Promise.resolve(code)
        .then(copyText)
        .then(() => showToast(messages.actions.copied), showError)
    }, [environment, videoId, iframe]),
  })
  if (error) return <ErrorText error={error} />
  return (
    <CopyButton
      variant="primary"
      text={isPublic ? assets?.iframe : assets?.player}
      label={isPublic ? words.copyCode : words.copyOneLink}
      // Whoever copies again wants to give it to somebody else.
      onCopied={renew}
    />
  )
}
