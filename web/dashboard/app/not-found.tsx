import { Link } from '@tanstack/react-router'
import { texts } from '../texts/texts.ts'
import { buttonClass } from '../ui/button.tsx'
import { EmptyState } from '../ui/states.tsx'
import { rememberedEnvironment } from './environment.ts'

export function NotFound() {
  return (
    <EmptyState
      icon="search"
      title={texts.states.notFoundTitle}
      actions={
        <Link
          to="/$environment"
          params={{ environment: rememberedEnvironment() }}
          className={buttonClass('primary')}
        >
          {texts.navigation.home}
        </Link>
      }
    >
      {texts.states.notFound}
    </EmptyState>
  )
}
