import styles from './tag-list.module.css'

const maxShown = 6

/** The tags of a video in one line. */
export const TagList = ({ tags }: { tags: string[] }) =>
  tags.length === 0 ? null : (
    <span className={styles.tags}>
      {tags.slice(0, maxShown).map((tag) => (
        <bdi key={tag}>#{tag} </bdi>
      ))}
    </span>
  )
