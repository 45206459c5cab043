import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function ViewersView() {
  return <Page title={texts.navigation.viewers}>{null}</Page>
}
