import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { isPorticoError } from 'portal-client'
import { type ReactNode, StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { useSearch } from 'wouter/use-browser-location'
import { Boundary } from './boundary.tsx'
import { loadTexts } from './i18n.ts'
import { Loading } from './states.tsx'
import { applyTheme } from './theme.ts'
import { Toasts } from './toasts.tsx'

/** Starts an application below its path, such as `/console`. */
export async function startApp(base: string, app: ReactNode): Promise<void> {
  applyTheme()
  await loadTexts()
  const root = document.getElementById('app')
  if (!root) throw new Error('the page has no element #app')
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router base={base} searchHook={useEncodedSearch}>
          <Boundary>
            <Suspense fallback={<Loading />}>{app}</Suspense>
          </Boundary>
        </Router>
        <Toasts />
      </QueryClientProvider>
    </StrictMode>,
  )
}

/** wouter decodes the query before it is parsed, and so a second time. */
function useEncodedSearch(): string {
  return useSearch().replaceAll('%', '%25')
}

/** A refusal is final. A command can change any list, so all data is read again after one. */
const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache(),
  mutationCache: new MutationCache({ onSuccess: () => queries.invalidateQueries() }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && isPorticoError(error, 'CLIENT.NETWORK', 'CLIENT.TIMEOUT'),
    },
  },
})

/** Reads all data of the page again, such as after a command. */
export function refreshData(): Promise<void> {
  return queries.invalidateQueries()
}

/** Forgets the data of a user who signed out. */
export function forgetData(): void {
  queries.clear()
}
