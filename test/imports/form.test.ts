import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Part, parts, type ServiceName, serviceNames } from '../../server/imports/kinds.ts'
import { ImportRequest } from '../../server/imports/schemas.ts'
import { services } from '../../server/imports/services/services.ts'

type Shown = { name: ServiceName; keepsIds: boolean; parts: Part[]; fields: { name: string }[] }

// Not imported by name: its types are those of a browser.
const form = new URL('../../web/dashboard/views/videos/imports/services.ts', import.meta.url).href
const { services: shown }: { services: Shown[] } = await import(form)

test('the form of the dashboard has the services of the server, and fields that the server reads', () => {
  assert.deepEqual(
    shown.map(({ name }) => name).sort(),
    serviceNames.filter((name) => name !== 'folder').sort(),
  )
  for (const { name, keepsIds, parts: shownParts, fields } of shown) {
    assert.deepEqual([name, keepsIds && shownParts.length > 0], [name, services[name].keepsIds])
    for (const part of shownParts) assert.ok(parts.includes(part), part)
    for (const field of fields) assert.ok(field.name in ImportRequest.properties, field.name)
  }
  assert.deepEqual(shown.find(({ name }) => name === 'kinora')?.parts, [...parts])
})
