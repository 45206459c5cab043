// What every page of the docs loads.
import '@fontsource-variable/geist/wght.css'
import '../dashboard/style/tokens.css'
import './style/page.css'
import './style/header.css'
import './style/text.css'
import './style/code.css'
import { addCopyButtons } from './copy-buttons.ts'
import { startKey } from './key/key-button.ts'
import { startSearch } from './search/search.ts'
import { startThemeChoice } from './theme-choice.ts'

startThemeChoice()
addCopyButtons()
startSearch()
startKey()
