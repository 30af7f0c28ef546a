import { lazy } from 'react'
import { Route } from 'wouter'
import type { AppPage } from './pages.tsx'

/** Routes for a `Switch`, which looks only at its own children. */
export function Visitors(pages: readonly AppPage[]) {
  return pages.map(({ path, load }) => <Route key={path} path={path} component={lazy(load)} />)
}
