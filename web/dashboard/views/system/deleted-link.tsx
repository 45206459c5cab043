import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Stored } from '../../api/system.ts'
import { useEnvironment } from '../../app/environment.ts'

/** Leads to the deleted videos: of this environment, if it has some. */
export function DeletedLink({ deleted, children }: { deleted: Stored[]; children: ReactNode }) {
  const current = useEnvironment()
  const { environment } = deleted.find((each) => each.environment === current) ?? deleted[0]!
  return (
    <Link to="/$environment/videos" params={{ environment }} search={{ deleted: true }}>
      {children}
    </Link>
  )
}
