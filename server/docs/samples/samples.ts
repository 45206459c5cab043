import type { Route } from '../document.ts'
import { curl } from './curl.ts'
import { go } from './go.ts'
import { node } from './node.ts'
import { php } from './php.ts'
import { python } from './python.ts'
import { type SampleRequest, sampleRequest } from './request.ts'

export type Sample = { lang: string; label: string; source: string }

const languages: { lang: string; label: string; write(request: SampleRequest): string }[] = [
  { lang: 'shell', label: 'curl', write: curl },
  { lang: 'javascript', label: 'Node', write: node },
  { lang: 'python', label: 'Python', write: python },
  { lang: 'php', label: 'PHP', write: php },
  { lang: 'go', label: 'Go', write: go },
]

/** Programs that call an operation with the standard library of their language, without packages. */
export function samplesOf(route: Route, baseUrl: string): Sample[] {
  const request = sampleRequest(route, baseUrl)
  return languages.map(({ lang, label, write }) => ({ lang, label, source: write(request) }))
}
