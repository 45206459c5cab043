import {
  type HlsConfig,
  type LoaderCallbacks,
  type LoaderConfiguration,
  type LoaderContext,
  XhrLoader,
} from 'hls.js'
import type { DataWatch } from './connection.ts'

/** The loader of hls.js, which tells the watch about its requests. */
export function watchedLoader(watch: DataWatch): HlsConfig['loader'] {
  return class extends XhrLoader {
    override load(
      context: LoaderContext,
      config: LoaderConfiguration,
      callbacks: LoaderCallbacks<LoaderContext>,
    ): void {
      watch.start(this)
      super.load(context, config, {
        ...callbacks,
        onSuccess: (...results) => {
          watch.succeed(this)
          callbacks.onSuccess(...results)
        },
        onError: (...results) => {
          watch.fail(this)
          callbacks.onError(...results)
        },
        onTimeout: (...results) => {
          watch.fail(this)
          callbacks.onTimeout(...results)
        },
      })
    }

    override abort(): void {
      watch.cancel(this)
      super.abort()
    }

    override destroy(): void {
      watch.cancel(this)
      super.destroy()
    }
  }
}
