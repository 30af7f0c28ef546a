/** The renderer is dark below this class alone; the page follows what the reader's system asks for, also when that changes. */
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
