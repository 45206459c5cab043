import type { Installation } from '../../machines/installation.ts'
import type { Ledger } from '../ledger.ts'
import type { Random } from '../random.ts'

export type FaultContext = {
  installation: Installation
  ledger: Ledger
  random: Random
}

/** A running fault. */
export type ActiveFault = {
  /** What it affects. Two faults at the same time never affect the same. */
  target: string
  /** How long it lasts. */
  forMs: number
  /** Whether frames that were not stored yet can be lost with the process that receives them. */
  isOutage?: boolean
  heal(): Promise<void>
}

export type Fault = {
  name: string
  /** Undefined if its target is affected by another fault at the moment. */
  begin(context: FaultContext, isBusy: (target: string) => boolean): Promise<ActiveFault | undefined>
}
