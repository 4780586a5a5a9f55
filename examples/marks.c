/* SPDX-License-Identifier: Apache-2.0 */
/* A job that says what it does: baro run -- ./marks */
#include <baro/mark.h>
#include <stdio.h>

int main(void)
{
    double loss = 1;
    baro_mark("start", NULL);
    for (int epoch = 1; epoch <= 3; epoch++) {
        char given[64];
        snprintf(given, sizeof(given), "{\"epoch\": %d}", epoch);
        baro_phase_begin("train", given);
        for (volatile int i = 0; i < 1000000; i++)
            ;
        loss /= 2;
        snprintf(given, sizeof(given), "{\"loss\": %g}", loss);
        baro_phase_end("train", given);
    }
    printf("loss %g\n", loss);
    return 0;
}
