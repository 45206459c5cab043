import { type ComponentType, lazy } from 'react'
import { isConnected } from '../api/connection.ts'
import { createStore, useStore } from './store.ts'

/**
 * Why code cannot be loaded. "updated": the server has another version of the dashboard. "failed": some browsers never
 * load a module again that could not be loaded once.
 */
export type LoadProblem = 'offline' | 'updated' | 'failed'

const retryMs = 5_000
const maxAttempts = 4

const problem = createStore<LoadProblem | undefined>(undefined)

export const useLoadProblem = () => useStore(problem)

/**
 * Loads code. It never rejects, because that would replace the view by an error and lose what was typed. What the page
 * has to tell the user is in useLoadProblem.
 */
export async function loadWithRetry<T>(load: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    if (attempt > 1 || !isConnected()) await waitForServer()
    try {
      const loaded = await load()
      if (problem.read() === 'failed') problem.set(undefined)
      return loaded
    } catch (error) {
      forgetStyle(error)
      if (problem.read() === 'updated') break
      if (attempt === 1) continue
      // The server can be reached.
      problem.set('failed')
      await later()
    }
  }
  return new Promise(() => {})
}

/** A component whose code is loaded when it is first shown. */
export const lazyWithRetry = <Props>(load: () => Promise<{ default: ComponentType<Props> }>) =>
  lazy(() => loadWithRetry(load))

async function waitForServer(): Promise<void> {
  for (;;) {
    const page = await loadPage()
    if (page !== undefined) return problem.set(isOwn(page) ? undefined : 'updated')
    problem.set('offline')
    await later()
  }
}

const loadPage = () =>
  fetch('/dashboard', { cache: 'no-cache' }).then(
    (response) => (response.ok ? response.text() : undefined),
    () => undefined,
  )

/** The name of the script changes with every version. */
function isOwn(page: string): boolean {
  const script = document.querySelector<HTMLScriptElement>('script[type=module][src]')
  return script === null || page.includes(new URL(script.src).pathname)
}

/** Until the browser is online again, but not for long: it does not know whether the server is reachable. */
function later(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, retryMs)
    addEventListener('online', () => resolve(), { once: true })
  })
}

/** Vite takes a style sheet that is part of the page for loaded. */
function forgetStyle(error: unknown): void {
  const [, url] = /^Unable to preload CSS for (\S+)$/.exec(String((error as Error)?.message)) ?? []
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]'))
    if (link.href === url) link.remove()
}
