import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function HomeView() {
  return <Page title={texts.navigation.home}>{null}</Page>
}
