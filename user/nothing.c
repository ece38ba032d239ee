// SPDX-License-Identifier: MIT
/*
 * nothing - ends at once with status 0: the small program that bench and the tests execute.
 */
int main(void)
{
	return 0;
}
