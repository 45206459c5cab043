import { texts } from '../../texts/texts.ts'

/** A video may have no title. */
export const titleOf = ({ title }: { title: string }) => title.trim() || texts.videos.untitled
