/*
 * The renderer's only dialog, which it shows without saying so: the keyboard goes into it, stays there while it is open, and
 * comes back to where it was; Escape closes it.
 */
const find = () => document.querySelector('.modal-ux')
let isOpen = false
let outside = null

const enter = () => find()?.querySelector('input, button')?.focus()

const attend = () => {
  const dialog = find()
  if (dialog && !dialog.hasAttribute('role')) {
    dialog.setAttribute('role', 'dialog')
    dialog.setAttribute('aria-modal', 'true')
    enter()
  }
  if (!dialog && isOpen) outside?.focus()
  isOpen = dialog !== null
}

new MutationObserver(attend).observe(document.getElementById('reference'), { childList: true, subtree: true })

addEventListener('focusin', ({ target }) => {
  const dialog = find()
  if (!dialog) outside = target
  else if (!dialog.contains(target)) enter()
})

addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') document.querySelector('.close-modal')?.click()
})
