/** The clicks of somebody in a hurry. */

/** A listener of what holds buttons: the second of two clicks presses none of them, since the first one may have brought
 * another button to its place. Keys press as often as they are pressed. */
export const firstClicks = {
  capture: true,
  handleEvent(event) {
    if (event.detail < 2 || !event.target.closest("button")) return;
    event.preventDefault();
    event.stopPropagation();
  },
};
