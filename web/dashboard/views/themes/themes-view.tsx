import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function ThemesView() {
  return <Page title={texts.navigation.themes}>{null}</Page>
}
