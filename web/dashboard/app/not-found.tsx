import { Link } from '@tanstack/react-router'
import { messages } from '../messages/messages.ts'
import { buttonClass } from '../ui/button.tsx'
import { EmptyState } from '../ui/states.tsx'
import { rememberedEnvironment } from './environment.ts'

export function NotFound() {
  return (
    <EmptyState
      icon="search"
      title={messages.states.notFoundTitle}
      actions={
        <Link
          to="/$environment"
          params={{ environment: rememberedEnvironment() }}
          className={buttonClass('primary')}
        >
          {messages.navigation.home}
        </Link>
      }
    >
      {messages.states.notFound}
    </EmptyState>
  )
}
