import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { test } from 'node:test'

test('the first tus request loads @tus/server, because loading it at the start would slow down the start', async () => {
  const loaded = new Set<string>()
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      loaded.add(specifier)
      return nextResolve(specifier, context)
    },
  })
  try {
    await import('../../slices.ts')
    assert.ok([...loaded].some((specifier) => specifier.endsWith('/tus/routes.ts')))
    assert.ok(!loaded.has('@tus/server'))
    await import('./handler.ts')
    assert.ok(loaded.has('@tus/server'))
  } finally {
    hooks.deregister()
  }
})
