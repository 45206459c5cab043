import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { buttonClass } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Icon } from '../../ui/icon.tsx'
import { showError } from '../../ui/toast-list.ts'
import styles from './add-video.module.css'

/** A large area to drop files on and to choose them. Files can be dropped anywhere else, too. */
export default function AddVideo({ isSmall = false }: { isSmall?: boolean }) {
  const environment = useEnvironment()
  const choose = () =>
    void import('../../upload/pick-uploads.ts')
      .then(({ pickUploads }) => pickUploads(environment))
      .catch(showError)
  return (
    <button type="button" className={classNames(styles.drop, isSmall && styles.small)} onClick={choose}>
      <span className={styles.mark}>
        <Icon name="upload" size={isSmall ? 18 : 28} />
      </span>
      <span className={styles.title}>{isSmall ? messages.home.dropAnother : messages.home.dropHere}</span>
      {!isSmall && (
        <>
          <span className="muted">{messages.home.dropFormats}</span>
          <span className={buttonClass('primary')}>{messages.home.choose}</span>
        </>
      )}
    </button>
  )
}
