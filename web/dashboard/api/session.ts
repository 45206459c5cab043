import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { messages } from '../messages/messages.ts'
import { request, setCsrfToken } from './client.ts'
import { ApiProblem } from './problem.ts'
import type { Session } from './types.ts'

/** Whether this page has had a session, which has ended if there is none now. */
let hasHadSession = false

/** The last session of this page. It stays while the page asks for the password again. */
let latest: Session | undefined

export const readHasHadSession = () => hasHadSession

const keep = (session: Session): Session => {
  hasHadSession = true
  latest = session
  setCsrfToken(session.csrfToken)
  return session
}

/** Null without a session. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async (): Promise<Session | null> => {
    try {
      return keep(await request<Session>('GET', '/session'))
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 401) return null
      throw error
    }
  },
})

/** Whether the session has ended while the page was open. */
export const useHasEnded = () => useSuspenseQuery(sessionQuery).data === null && hasHadSession

/** The session of a page that needs one. The router has loaded it. */
export function useSession(): Session {
  const { data } = useSuspenseQuery(sessionQuery)
  const session = data ?? latest
  if (!session) throw new ApiProblem(401, { title: messages.states.noPermission })
  return session
}

export const logIn = async (password: string) =>
  keep(await request<Session>('POST', '/login', { body: { password } }))

export const logInByLink = async (token: string) =>
  keep(await request<Session>('POST', '/login-link', { body: { token } }))

export const choosePassword = (body: { password: string; currentPassword?: string }) =>
  request<void>('PUT', '/password', { body })

/** Whoever logs out knows it. */
async function end(path: string): Promise<void> {
  await request<void>('POST', path)
  hasHadSession = false
}

export const logOut = () => end('/logout')
export const logOutEverywhere = () => end('/logout-everywhere')
