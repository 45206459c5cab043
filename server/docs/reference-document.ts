import { type Operation, routesOf } from './document.ts'
import type { Document } from './openapi.ts'
import { samplesOf } from './samples/samples.ts'

/**
 * The document as Scalar reads it. The samples are not in openapi.json, because they contain the URL of the service, and
 * they would double its size.
 */
export function referenceDocument(document: Document, baseUrl: string): Document {
  // The format `text` is our own and means nothing to readers.
  const copy: Document = JSON.parse(JSON.stringify(document), (key, value) =>
    key === 'format' && value === 'text' ? undefined : value,
  )
  for (const route of routesOf(copy)) {
    Object.assign(route.operation, { 'x-codeSamples': samplesOf(route, baseUrl) })
    disableOptionalParameters(route.operation)
  }
  return copy
}

/** Otherwise, a request that the reader tries has every optional parameter that has an example, such as all filters. */
function disableOptionalParameters({ parameters = [] }: Operation): void {
  for (const parameter of parameters) {
    if (parameter.required || parameter.example === undefined) continue
    const { example: value } = parameter
    delete parameter.example
    Object.assign(parameter, { examples: { default: { value, 'x-disabled': true } } })
  }
}
