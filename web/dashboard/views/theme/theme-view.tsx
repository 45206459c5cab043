import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function ThemeView() {
  return <Page title={texts.navigation.themes}>{null}</Page>
}
