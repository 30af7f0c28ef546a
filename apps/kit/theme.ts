import { useState, useSyncExternalStore } from 'react'

/** `system` follows the operating system. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const storageKey = 'portico.theme'

/** The theme with this name, or `system`. */
export function theme(name: string | null): Theme {
  return themes.find((each) => each === name) ?? 'system'
}

/** Applies the choice of the last visit. */
export function applyTheme(chosen: Theme = theme(localStorage.getItem(storageKey))): void {
  document.documentElement.dataset.theme = chosen
}

export function useTheme(): [Theme, (chosen: Theme) => void] {
  const [chosen, setChosen] = useState(() => theme(localStorage.getItem(storageKey)))
  const choose = (next: Theme): void => {
    localStorage.setItem(storageKey, next)
    applyTheme(next)
    setChosen(next)
  }
  return [chosen, choose]
}

/** The theme of the page, also after a choice elsewhere in it. */
export function useAppliedTheme(): Theme {
  return useSyncExternalStore(watchTheme, () => theme(document.documentElement.dataset.theme ?? null))
}

function watchTheme(onChange: () => void): () => void {
  const observer = new MutationObserver(onChange)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}
