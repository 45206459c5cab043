import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { keysQuery } from '../../api/keys.ts'
import { useEnvironment } from '../../app/environment.ts'
import { useStore } from '../../ui/store.ts'
import { areOffered, stepsOf } from './first-steps.ts'
import { note, noted } from './noted-steps.ts'
import type { Home } from './use-home.ts'

/** Whether the first steps are shown, and which of them are done. */
export function useFirstSteps({ newest, views, isPending }: Home) {
  const known = useStore(noted)
  // Decided once, so that the steps stay open while they are followed.
  const [isOpen, setOpen] = useState<boolean | undefined>(known.isOver ? false : undefined)
  const keys = useQuery({ ...keysQuery(useEnvironment()), enabled: isOpen !== false })
  const steps = stepsOf({
    videos: newest.data?.data ?? [],
    keys: keys.data ?? [],
    views: views.data?.reduce((sum, { metricValue }) => sum + metricValue, 0) ?? 0,
    hasCopied: known.hasCopied ?? false,
  })
  if (isOpen === undefined && newest.data && !isPending && !keys.isPending) {
    setOpen(areOffered(steps, newest.data.pagination.itemsTotal))
  }
  return {
    isPending: isOpen === undefined,
    isOpen: isOpen ?? false,
    steps,
    keys: keys.data ?? [],
    close() {
      note({ isOver: true })
      setOpen(false)
    },
  }
}
