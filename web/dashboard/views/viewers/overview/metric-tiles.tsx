import { messages } from '../../../messages/messages.ts'
import { changeOf } from '../filters/period.ts'
import { formatMetric } from '../metrics.ts'
import { useViewersSearch } from '../use-viewers-search.ts'
import type { MetricName } from '../viewers-search.ts'
import { ChangeText } from './change-text.tsx'
import styles from './metric-tiles.module.css'

export type Tile = {
  name: MetricName
  /** Undefined while it is loading. */
  value: number | undefined
  previous: number | undefined
  hasPrevious: boolean
}

/** The numbers of the period. The chosen one is the one of the chart and the breakdowns. */
export function MetricTiles({ tiles }: { tiles: Tile[] }) {
  const { search, change } = useViewersSearch()
  const { metric = 'views' } = search
  return (
    <fieldset className={styles.tiles}>
      <legend className="visually-hidden">{messages.viewers.metric}</legend>
      {tiles.map((tile) => (
        <label key={tile.name} className={styles.tile} title={messages.viewers.metricHints[tile.name]}>
          <input
            type="radio"
            name="metric"
            className="visually-hidden"
            checked={tile.name === metric}
            onChange={() => change({ metric: tile.name })}
          />
          <span className="secondary">{messages.viewers.metrics[tile.name]}</span>
          <span className={styles.value} data-metric={tile.name}>
            {tile.value === undefined ? '–' : formatMetric(tile.name, tile.value)}
          </span>
          <TileChange tile={tile} />
        </label>
      ))}
    </fieldset>
  )
}

function TileChange({ tile: { value, previous, hasPrevious } }: { tile: Tile }) {
  const change = value === undefined ? undefined : changeOf(value, previous)
  if (change !== undefined) return <ChangeText change={change} />
  return (
    <span className={styles.nothing} title={hasPrevious ? undefined : messages.viewers.noPreviousHint}>
      {value === undefined ? ' ' : messages.viewers.noPrevious}
    </span>
  )
}
