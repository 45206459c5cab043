import type { StoredUpload } from './types.ts'

const storeName = 'uploads'

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('kinora-dashboard', 1)
    request.onupgradeneeded = () => request.result.createObjectStore(storeName, { keyPath: 'id' })
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

async function run<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T> | undefined,
): Promise<T | undefined> {
  const database = await open()
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(storeName, mode)
      const request = work(transaction.objectStore(storeName))
      transaction.oncomplete = () => resolve(request?.result)
      transaction.onabort = () => reject(transaction.error)
    })
  } finally {
    database.close()
  }
}

/** Some browsers have no storage in private windows. Uploads then work, but cannot continue after a reload. */
const ignoreFailure = () => undefined

export const saveUploads = (uploads: StoredUpload[]) =>
  run<void>('readwrite', (store) => {
    for (const each of uploads) store.put(each)
    return undefined
  }).catch(ignoreFailure)

export const forgetUploads = (ids: string[]) =>
  run<void>('readwrite', (store) => {
    for (const id of ids) store.delete(id)
    return undefined
  }).catch(ignoreFailure)

export async function loadUploads(): Promise<StoredUpload[]> {
  const all = await run<StoredUpload[]>('readonly', (store) => store.getAll()).catch(ignoreFailure)
  return (all ?? []).sort((one, other) => one.addedAt - other.addedAt)
}
